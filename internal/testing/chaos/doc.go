// Package chaos breaks things and looks whether promises were kept. Its tests
// run several services on one database, load them as consumers and bots would,
// and kill, stop and cut off what they can meanwhile; afterwards a checker
// reads the whole history (make chaos).
//
// There is no code here but tests.
package chaos
