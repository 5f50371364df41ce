// Package mcpclient is a small MCP client over stdio, written apart from the
// server's library so that a fault of that library cannot hide itself: it
// starts a command with an environment it is given, speaks either protocol era,
// keeps every message the server sent, and keeps the lines that were no
// message at all.
//
// The demonstration, the benchmark and the end-to-end tests use it. It imports
// none of our packages, promises that every wait has an end, and never writes
// to its own standard output.
package mcpclient
