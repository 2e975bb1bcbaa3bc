// Package deliverytest tests the sender of webhooks with real databases and
// receivers: how much it delivers while some of them hang, and that nothing is lost
// when it is killed.
package deliverytest
