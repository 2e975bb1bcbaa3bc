package budget_test

import (
	"errors"
	"testing"

	"standin/internal/base/budget"
)

// TestPool checks that the user with the most loses the largest call, that a call which takes
// too much itself is refused, and that lost and released calls give everything back once.
func TestPool(t *testing.T) {
	t.Parallel()
	p := budget.NewPool(10)
	var lost []string
	take := func(user, name string, units int64) *budget.Part {
		part := p.Join(user, func() { lost = append(lost, name) })
		if err := part.Take(units); (err != nil) != (len(lost) > 0 && lost[len(lost)-1] == name) || err != nil && !errors.Is(err, budget.ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		return part
	}
	expect := func(want ...string) {
		t.Helper()
		if len(lost) != len(want) || len(want) > 0 && lost[0] != want[0] {
			t.Fatalf("lost %v, want %v", lost, want)
		}
		lost = nil
	}
	small, large := take("greedy", "small", 2), take("greedy", "large", 5)
	modest := take("modest", "modest", 3)
	expect()
	take("greedy", "another", 1)
	expect("another")
	third := take("third", "third", 2)
	expect("large") // 5 are free again, 2 of them taken
	large.Release()
	if err := large.Take(1); !errors.Is(err, budget.ErrFull) {
		t.Errorf("a lost call: %v", err)
	}
	told := false
	if large.OnLoss(func() { told = true }); !told {
		t.Error("a call that was lost before was not told")
	}
	take("third", "rest", 3)
	expect()
	for _, part := range []*budget.Part{small, modest, third} {
		part.Release()
		part.Release()
	}
	take("fourth", "all that is left", 7)
	expect()
	take("fifth", "one more", 1)
	expect("all that is left")
}
