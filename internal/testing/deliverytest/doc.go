// Package deliverytest tests the sender of webhooks with real databases and receivers:
// that nothing is lost and the order is kept when it is killed or receivers fail.
package deliverytest
