package clock_test

import (
	"runtime"
	"testing"
	"time"

	"countersign/signerd/internal/clock"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestTellStep(t *testing.T) {
	first := clock.Reading{Boot: "a", Since: time.Hour, Wall: noon}
	for name, c := range map[string]struct {
		later clock.Reading
		step  time.Duration
		ok    bool
	}{
		"as time goes":   {clock.Reading{Boot: "a", Since: 3 * time.Hour, Wall: noon.Add(2 * time.Hour)}, 0, true},
		"set ahead":      {clock.Reading{Boot: "a", Since: 2 * time.Hour, Wall: noon.Add(25 * time.Hour)}, 24 * time.Hour, true},
		"set back":       {clock.Reading{Boot: "a", Since: 2 * time.Hour, Wall: noon}, -time.Hour, true},
		"another run":    {clock.Reading{Boot: "b", Since: 2 * time.Hour, Wall: noon}, 0, false},
		"no such count":  {clock.Reading{Wall: noon}, 0, false},
		"another offset": {clock.Reading{Boot: "a", Since: time.Hour, Wall: noon.In(time.FixedZone("x", 3600))}, 0, true},
	} {
		if step, ok := first.Step(c.later); !first.Right(c.later).Equal(c.later.Wall.Add(-c.step)) || step != c.step || ok != c.ok {
			t.Errorf("%s: %s, %v; want %s, %v", name, step, ok, c.step, c.ok)
		}
	}
	if _, ok := (clock.Reading{}).Step(clock.Reading{}); ok {
		t.Error("readings without a count were compared")
	}
}

func TestReadBothClocks(t *testing.T) {
	first, err := clock.Read()
	if err != nil {
		t.Fatal(err)
	}
	later, err := clock.Read()
	if err != nil {
		t.Fatal(err)
	}
	step, ok := first.Step(later)
	if ok != (runtime.GOOS == "linux") || step.Abs() > time.Second {
		t.Errorf("two readings in a row are %s apart, %v", step, ok)
	}
}
