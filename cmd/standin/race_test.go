//go:build race

package main

// raceFactor is how many times the usual memory a program may take.
const raceFactor = 3
