//go:build !linux

package main

// contained is for Linux alone.
func contained() {}
