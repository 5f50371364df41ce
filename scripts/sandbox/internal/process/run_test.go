package process

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/scripts/localnet"
)

// started runs Main against a local chain and waits for its line.
func started(t *testing.T, arguments ...string) (ready Ready, stdin io.Closer, code chan int) {
	t.Helper()
	chain, err := localnet.Start(t.Context(), localnet.Options{ConfirmedLag: localnet.NoLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	arguments = append([]string{"--rpc", chain.RPCURL, "--wallet", wallet, "--api-key", "stub_bags_key_no_network"}, arguments...)
	in, stdin := io.Pipe()
	out, stdout := io.Pipe()
	code = make(chan int, 1)
	var stderr strings.Builder
	go func() {
		code <- Main(arguments, in, stdout, &stderr)
		_ = stdout.Close()
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no line: %v; %s", err, stderr.String())
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return ready, stdin, code
}

func get(t *testing.T, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// checkOver waits for the end and sees that nothing listens any more.
func checkOver(t *testing.T, ready Ready, code chan int) {
	t.Helper()
	select {
	case got := <-code:
		if got != done {
			t.Errorf("exit code %d", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
	if status, err := get(t, ready.ControlURL+"/world"); err == nil {
		t.Errorf("the control port still answers with %d", status)
	}
}

func TestMainSaysWhereAndEndsWithStdin(t *testing.T) {
	ready, stdin, code := started(t, "--exit-with-stdin")
	if ready.World.Wallet != wallet || ready.World.TokenMint == "" || !strings.HasSuffix(ready.BagsURL, "/api/v1") {
		t.Errorf("ready: %+v", ready)
	}
	for url, want := range map[string]int{
		strings.TrimSuffix(ready.BagsURL, "/api/v1") + "/ping": http.StatusOK,
		ready.BagsURL + "/solana/bags/pools":                   http.StatusUnauthorized,
		ready.ControlURL + "/requests":                         http.StatusOK,
	} {
		if status, err := get(t, url); err != nil || status != want {
			t.Errorf("%s: status %d, %v, want %d", url, status, err, want)
		}
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	checkOver(t, ready, code)
}

func TestMainEndsOnSignal(t *testing.T) {
	ready, _, code := started(t)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	checkOver(t, ready, code)
}
