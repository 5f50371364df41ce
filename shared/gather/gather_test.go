package gather_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/shared/gather"
)

var (
	errDown = errors.New("down")
	errNo   = errors.New("no")
)

// source answers after some time, with its number or an error.
type source struct {
	after time.Duration
	err   error
}

// TestWaitForEnough: the order is that of the sources, the slow ones are left out
// once enough have answered, and are told so.
func TestWaitForEnough(t *testing.T) {
	const hour = time.Hour
	for name, test := range map[string]struct {
		sources []source
		enough  int
		counts  func(error) bool
		want    string
		took    time.Duration
	}{
		"all at once":          {[]source{{0, nil}, {0, nil}}, 2, nil, "0 1", 0},
		"all, the slow one":    {[]source{{hour, nil}, {0, nil}}, 2, nil, "0 1", hour},
		"enough, and a moment": {[]source{{hour, nil}, {time.Second, nil}, {0, nil}}, 2, nil, "slow 1 2", 1500 * time.Millisecond},
		"in that moment":       {[]source{{1200 * time.Millisecond, nil}, {time.Second, nil}, {0, nil}}, 2, nil, "0 1 2", 1200 * time.Millisecond},
		"errors do not count":  {[]source{{time.Minute, nil}, {0, errDown}, {0, nil}}, 2, nil, "0 down 2", time.Minute},
		"but for those that do": {
			[]source{{hour, nil}, {0, errNo}, {0, nil}}, 2, func(err error) bool { return errors.Is(err, errNo) }, "slow no 2", 500 * time.Millisecond,
		},
		"nobody need": {[]source{{hour, nil}, {0, nil}}, 0, nil, "slow 1", 500 * time.Millisecond},
		"nobody":      {nil, 1, nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				got := gather.Enough(t.Context(), numbered(test.sources), test.enough, test.counts, ask)
				if text := words(got); text != test.want || time.Since(begin) != test.took {
					t.Errorf("%q after %v, want %q after %v", text, time.Since(begin), test.want, test.took)
				}
			})
		})
	}
}

type numberedSource struct {
	source
	number int
}

func numbered(list []source) []numberedSource {
	var all []numberedSource
	for i, s := range list {
		all = append(all, numberedSource{s, i})
	}
	return all
}

func ask(ctx context.Context, s numberedSource) (int, error) {
	select {
	case <-time.After(s.after):
		return s.number, s.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func words(outcomes []gather.Outcome[int]) string {
	var list []string
	for _, each := range outcomes {
		switch {
		case errors.Is(each.Err, gather.ErrSlow):
			list = append(list, "slow")
		case each.Err != nil:
			list = append(list, each.Err.Error())
		default:
			list = append(list, fmt.Sprint(each.Value))
		}
	}
	return strings.Join(list, " ")
}
