package main

import (
	"net"
	"testing"
)

func TestWhichListenersNobodyOutsideCanReach(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "127.8.8.8:80": true, "[::1]:80": true, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.7:80": false,
	} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := onLoopback(a); got != want {
			t.Errorf("%s: %t", addr, got)
		}
	}
	if onLoopback(&net.UnixAddr{Name: "/x"}) {
		t.Error("what is no TCP address counts as loopback")
	}
}
