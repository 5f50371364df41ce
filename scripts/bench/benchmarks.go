package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rounds is how often benchmarks run, one after the other, so that a noisy moment
// meets floor and measured alike.
const rounds = 7

// buildBenchmarks builds the tests of a package.
func buildBenchmarks(ctx context.Context, folder, tests string) (binary string, err error) {
	binary = filepath.Join(folder, strings.ReplaceAll(strings.TrimPrefix(tests, "./"), "/", "-")+".test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, tests).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", tests, err, out)
	}
	return binary, nil
}

// timeBenchmarks gives the median of the time of one run of each, in microseconds.
func timeBenchmarks(ctx context.Context, binary, time string, names ...string) (map[string]float64, error) {
	return medians(ctx, binary, time, names, func(b benchmark) float64 { return b.nanoseconds })
}

// medians gives the median of something that all runs of each have, in
// microseconds.
func medians(ctx context.Context, binary, time string, names []string, of func(benchmark) float64) (map[string]float64, error) {
	all := make(map[string][]float64)
	for range rounds {
		results, err := runBenchmarks(ctx, binary, ".", time)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			result, measured := results[name]
			if !measured {
				return nil, fmt.Errorf("%s has no %s", filepath.Base(binary), name)
			}
			all[name] = append(all[name], of(result)/1000)
		}
	}
	medians := make(map[string]float64, len(all))
	for name, times := range all {
		medians[name] = median(times)
	}
	return medians, nil
}

// benchmark is one line of the benchmarks' output.
type benchmark struct {
	nanoseconds, allocations float64
	// metrics are what the benchmark reports itself, by unit.
	metrics map[string]float64
}

func runBenchmarks(ctx context.Context, binary, which, time string) (map[string]benchmark, error) {
	command := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", which, "-test.benchtime", time)
	command.Env = append(os.Environ(), "BENCH_FOLDER="+filepath.Dir(binary))
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(binary), err, out)
	}
	return readBenchmarks(string(out))
}

// readBenchmarks reads lines like
//
//	BenchmarkName-8   100   12345 ns/op   678 B/op   9 allocs/op
func readBenchmarks(out string) (map[string]benchmark, error) {
	results := make(map[string]benchmark)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		result := benchmark{metrics: make(map[string]float64)}
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark line %q: %w", strings.TrimSpace(line), err)
			}
			switch fields[i+1] {
			case "ns/op":
				result.nanoseconds = value
			case "allocs/op":
				result.allocations = value
			default:
				result.metrics[fields[i+1]] = value
			}
		}
		name, _, _ := strings.Cut(fields[0], "-")
		results[name] = result
	}
	if len(results) == 0 {
		return nil, errors.New("the benchmarks measured nothing")
	}
	return results, nil
}
