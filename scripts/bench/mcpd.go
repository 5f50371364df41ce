package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"countersign/scripts/mcpclient"
)

// runs is how often each server is started. The two take turns, so that a noisy
// moment meets both.
const runs = 21

// settle is how long a server is left alone before its memory is read.
const settle = 100 * time.Millisecond

// mcpdConfig points at nothing that answers: listing tools may need nothing.
const mcpdConfig = `
[signer]
socket = "/nonexistent/agent.sock"
[rpc]
urls = ["http://127.0.0.1:1"]
[bags]
base_url = "http://127.0.0.1:1"
`

// server is how to start one MCP server.
type server struct {
	name string
	args []string
}

// start is what one start of a server cost.
type start struct {
	milliseconds float64
	residentMiB  float64
	listBytes    int
	// ending is how long it took to end once its input was closed.
	ending float64
}

func measureMcpd(ctx context.Context, folder string) ([]row, error) {
	if err := build(ctx, folder, "mcpd", "scripts/bench/trivialmcp"); err != nil {
		return nil, err
	}
	config := filepath.Join(folder, "mcpd.toml")
	if err := os.WriteFile(config, []byte(mcpdConfig), 0o600); err != nil {
		return nil, fmt.Errorf("write mcpd's configuration: %w", err)
	}
	servers := []server{
		{filepath.Join(folder, "mcpd"), []string{"serve", "--stdio", "--config", config}},
		{filepath.Join(folder, "trivialmcp"), nil},
	}
	times, memory, size, endings := make([][]float64, 2), make([][]float64, 2), make([]int, 2), make([][]float64, 2)
	for range runs {
		for i, s := range servers {
			got, err := startAndList(ctx, folder, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(s.name), err)
			}
			times[i], memory[i], size[i] = append(times[i], got.milliseconds), append(memory[i], got.residentMiB), got.listBytes
			endings[i] = append(endings[i], got.ending)
		}
	}
	return []row{
		row{Name: "mcpd: exec to the answer of tools/list", Value: median(times[0]), Unit: "ms"}.over(median(times[1])).judged(1.5),
		row{Name: "mcpd: resident after tools/list", Value: median(memory[0]), Unit: "MiB"}.over(median(memory[1])).judged(2),
		{Name: "mcpd: answer of tools/list", Value: float64(size[0]), Unit: "bytes"},
		row{Name: "mcpd: end after its input is closed", Value: median(endings[0]), Unit: "ms"}.judged(100),
	}, nil
}

func startAndList(ctx context.Context, folder string, s server) (start, error) {
	var log bytes.Buffer
	began := time.Now()
	client, err := mcpclient.Start(ctx, mcpclient.Options{Env: environment(folder), Dir: folder, Stderr: &log}, s.name, s.args...)
	if err != nil {
		return start{}, err
	}
	list, err := openAndList(ctx, client)
	took := time.Since(began)
	if err != nil {
		_ = client.Kill() // its log says more than its end
		return start{}, fmt.Errorf("%w\n%s", err, &log)
	}
	time.Sleep(settle)
	resident, err := residentMiB(ctx, client.PID())
	if err != nil {
		return start{}, err
	}
	exit, err := client.Close()
	if err != nil {
		return start{}, err
	}
	return start{inMilliseconds(took), resident, len(list), inMilliseconds(exit.Took)}, nil
}

func inMilliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }

func openAndList(ctx context.Context, client *mcpclient.Client) (json.RawMessage, error) {
	if _, err := client.Open(ctx); err != nil {
		return nil, err
	}
	return client.Request(ctx, "tools/list", struct{}{})
}

// environment keeps a daemon from the settings and the session of whoever runs
// the benchmark.
func environment(folder string) []string {
	return []string{"HOME=" + folder, "XDG_RUNTIME_DIR=" + folder, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(folder, "no-bus")}
}
