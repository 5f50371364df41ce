package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	auditRecords = 200_000
	auditRounds  = 5
)

// measureAudit compares verifying a long audit log, as a process of its own, with
// hashing its bytes. measureSignerd has built the binary.
func measureAudit(ctx context.Context, folder string) ([]row, error) {
	journal := filepath.Join(folder, "long.jsonl")
	if err := writeJournal(journal); err != nil {
		return nil, err
	}
	best, floor := time.Hour, time.Hour
	for range auditRounds {
		start := time.Now()
		if err := hashFile(journal); err != nil {
			return nil, err
		}
		floor = min(floor, time.Since(start))
		start = time.Now()
		if err := runQuietly(ctx, environment(folder), filepath.Join(folder, "signerd"), "audit", "verify", journal); err != nil {
			return nil, err
		}
		best = min(best, time.Since(start))
	}
	verify, hash := microsecondsEach(best), microsecondsEach(floor)
	return []row{
		// 200,000 records a second, or half as many as a slower machine can hash.
		row{Name: "signerd: audit verify, each of 200,000 records", Value: verify, Unit: "us"}.judged(max(5, 2*hash)),
		row{Name: "signerd: audit verify, over hashing the bytes", Value: verify, Unit: "us"}.over(hash),
	}, nil
}

func microsecondsEach(all time.Duration) float64 {
	return float64(all) / float64(time.Microsecond) / auditRecords
}

func hashFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(sha256.New(), file)
	return err
}

// writeJournal writes an audit log by its format, of records such as a settled
// transaction leaves.
func writeJournal(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	previous := strings.Repeat("0", 2*sha256.Size)
	for i := range auditRecords {
		body, err := json.Marshal(map[string]any{ // keys in order, as canonical JSON has them
			"kind": "settled", "seq": strconv.Itoa(i + 1), "prev": previous, "time": "2026-12-01T12:39:23.428787365Z",
			"session": "s_AE2ONJYZJ3CWBRL3D46OFWPXBY", "proposal": "p_y5hpppdjh35hq2qaiepun2fp6p", "correlation": "39a48262ac958e1a",
			"digest": strings.Repeat("5a", sha256.Size),
			"data": map[string]string{
				"outcome": "landed", "fee": "6200", "slot": strconv.Itoa(447552008 + i), "reservation": "r_oga6t3kfm2tb5zvfyqxmysajxw",
				"signature": strings.Repeat("1", 88),
			},
		})
		if err != nil {
			return errors.Join(err, file.Close())
		}
		hash := sha256.Sum256(body)
		previous = hex.EncodeToString(hash[:])
		fmt.Fprintf(out, "{\"hash\":%q,\"record\":%s}\n", previous, body)
	}
	return errors.Join(out.Flush(), file.Close())
}
