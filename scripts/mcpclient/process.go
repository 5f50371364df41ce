package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Era is a generation of the protocol: how a connection opens and what each
// request carries.
type Era uint8

// The two eras.
const (
	// Legacy opens with initialize.
	Legacy Era = iota
	// Modern opens with server/discover and states version and capabilities
	// in every request.
	Modern
)

// The protocol revisions this client speaks.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// maxLine bounds one message of the server.
const maxLine = 16 << 20

// Options say how to start a server.
type Options struct {
	Era Era
	// Env is the whole environment of the server; nothing is inherited.
	Env []string
	// Dir is its working folder; empty means ours.
	Dir string
	// Stderr receives its log; nil drops it.
	Stderr io.Writer
	// Timeout bounds each request, 30 s by default. A shorter context wins.
	Timeout time.Duration
}

const defaultTimeout = 30 * time.Second

// Client is one running server and the conversation with it. It is safe for
// concurrent use.
type Client struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	era     Era
	timeout time.Duration
	exited  chan struct{} // closed once the process is reaped

	writing sync.Mutex // guards stdin, one line at a time

	mu      sync.Mutex // guards the fields below
	nextID  uint64
	log     []Message
	strays  []string
	changed chan struct{} // closed and replaced at every change of the log
	ended   error         // why nothing more will come
}

// Start runs a command and reads what it writes. The process is killed when
// ctx ends; Close ends it gently.
func Start(ctx context.Context, options Options, name string, args ...string) (*Client, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = options.Env
	if command.Env == nil {
		command.Env = []string{}
	}
	command.Dir = options.Dir
	command.Stderr = options.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the server's input: %w", err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the server's output: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	client := &Client{
		command: command, stdin: stdin, era: options.Era, timeout: options.Timeout,
		exited: make(chan struct{}), changed: make(chan struct{}),
	}
	go client.listen(stdout)
	return client, nil
}

// listen is the only reader of the server's output and reaps the process once
// that output has ended, as os/exec demands.
func (c *Client) listen(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		c.receive(lines.Bytes())
	}
	reason := lines.Err()
	if reason == nil {
		reason = errors.New("the server closed its output")
	}
	_ = c.command.Wait() // the exit code is read from ProcessState
	c.mu.Lock()
	c.ended = reason
	c.announce()
	c.mu.Unlock()
	close(c.exited)
}

func (c *Client) receive(line []byte) {
	message, err := parseMessage(line)
	c.mu.Lock()
	if err != nil {
		c.strays = append(c.strays, string(line))
	} else {
		c.log = append(c.log, message)
	}
	c.announce()
	c.mu.Unlock()
	if err == nil && message.Method != "" && len(message.ID) > 0 {
		c.decline(message.ID)
	}
}

// decline answers a request of the server: this client offers nothing.
func (c *Client) decline(id json.RawMessage) {
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not offered"}}`, id)
	_ = c.SendRaw([]byte(answer)) // a server that has gone needs no answer
}

// announce wakes everyone who waits. The caller holds mu.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// SendRaw writes one line as it is, whatever it holds.
func (c *Client) SendRaw(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.stdin.Write(append(bytes.Clone(line), '\n')); err != nil {
		return fmt.Errorf("write to the server: %w", err)
	}
	return nil
}

// WaitFor returns the first message, of those received so far and those to
// come, that matches.
func (c *Client) WaitFor(ctx context.Context, match func(Message) bool) (Message, error) {
	seen := 0
	for {
		c.mu.Lock()
		fresh, changed, ended := c.log[seen:], c.changed, c.ended
		c.mu.Unlock()
		for _, message := range fresh {
			if match(message) {
				return message, nil
			}
		}
		seen += len(fresh)
		if ended != nil {
			return Message{}, ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Message{}, fmt.Errorf("wait for the server: %w", ctx.Err())
		}
	}
}

// Messages returns everything the server has sent so far, in order.
func (c *Client) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.log...)
}

// Notifications returns the notifications received so far, in order.
func (c *Client) Notifications() []Message {
	var notifications []Message
	for _, message := range c.Messages() {
		if message.Method != "" && len(message.ID) == 0 {
			notifications = append(notifications, message)
		}
	}
	return notifications
}

// Strays returns the lines on the server's output that were no JSON-RPC
// message. A correct server leaves none.
func (c *Client) Strays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.strays...)
}

// PID is the server's process id.
func (c *Client) PID() int { return c.command.Process.Pid }

// CloseInput closes the server's input, which is how a client says good-bye.
func (c *Client) CloseInput() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.stdin.Close()
}

// Kill ends the server at once.
func (c *Client) Kill() error {
	err := c.command.Process.Kill()
	<-c.exited
	return err
}

// Exit tells how a server ended.
type Exit struct {
	// Code is the exit code, or -1 where a signal ended it.
	Code int
	// Took is the time from the closing of its input to its end.
	Took time.Duration
}

// Close closes the server's input and waits for its end, for ten seconds at
// most: a server still there then is killed, and that is an error.
func (c *Client) Close() (Exit, error) {
	started := time.Now()
	_ = c.CloseInput() // closed before, or the server has gone: its end is what counts
	select {
	case <-c.exited:
		return Exit{Code: c.command.ProcessState.ExitCode(), Took: time.Since(started)}, nil
	case <-time.After(10 * time.Second):
		_ = c.Kill()
		return Exit{Code: -1, Took: time.Since(started)}, errors.New("the server did not end after its input was closed")
	}
}

func (c *Client) takeID() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	return strconv.AppendUint(nil, c.nextID, 10)
}
