// Package deliverytest holds no program, but what the sender of webhooks must show
// over the real databases and real receivers: how much it delivers while some
// of them hang, and that nothing is lost when it is killed.
package deliverytest
