// Package checks holds tests about the tree itself: the import order of the
// stages, what each daemon may link, where keys and floating point may be
// spoken of, and what the files in the repository promise each other.
//
// It has no code of its own and nobody imports it. It needs only the go
// command and git. What a child process read is invisible to the test cache,
// so run it with -count=1, as the Makefile does.
package checks
