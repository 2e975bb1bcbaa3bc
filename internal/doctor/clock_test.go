package doctor

import (
	"testing"
	"time"
)

func TestClockComparedWithOthers(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	answered := asked.Add(40 * time.Millisecond)
	theirs := func(ahead time.Duration) time.Time { return asked.Add(20*time.Millisecond + ahead) }
	for _, test := range []struct {
		readings []reading
		state    State
		tells    []string
	}{
		{nil, OK, []string{"not compared"}},
		{[]reading{compared("PostgreSQL", asked, answered, theirs(0), 0)}, OK, []string{"PostgreSQL's is 0s ahead of"}},
		{[]reading{compared("PostgreSQL", asked, answered, theirs(-time.Second), 0)}, OK, []string{"1s behind"}},
		{[]reading{compared("PostgreSQL", asked, answered, theirs(3*time.Second), 0)}, Warn, []string{"3s ahead of", "NTP"}},
		{[]reading{compared("PostgreSQL", asked, answered, theirs(-2*time.Minute), 0)}, Fail, []string{"2m0s behind", "NTP"}},
		{[]reading{
			compared("PostgreSQL", asked, answered, theirs(0), 0),
			compared("s3://bucket", asked, answered, theirs(2*time.Minute), time.Second),
		}, Fail, []string{"PostgreSQL", "s3://bucket"}},
		// A slow answer in whole seconds proves no difference.
		{[]reading{compared("s3://bucket", asked, asked.Add(5*time.Second), asked.Add(-time.Second).Truncate(time.Second), time.Second)}, OK, nil},
	} {
		expect(t, checkClock(limited(t), test.readings), test.state, test.tells...)
	}
}

func TestClockRunsEvenly(t *testing.T) {
	t.Parallel()
	if moved := drift(limited(t)); moved > tolerableDrift {
		t.Errorf("the clock of this machine moved by %v", moved)
	}
}
