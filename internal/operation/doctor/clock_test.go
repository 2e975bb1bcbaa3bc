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
		readings []clockReading
		state    State
		want     []string
	}{
		{nil, OK, []string{"no remote clock"}},
		{[]clockReading{newClockReading("PostgreSQL", asked, answered, theirs(0), 0)}, OK, []string{"PostgreSQL's is 0s ahead of"}},
		{[]clockReading{newClockReading("PostgreSQL", asked, answered, theirs(-time.Second), 0)}, OK, []string{"1s behind"}},
		{[]clockReading{newClockReading("PostgreSQL", asked, answered, theirs(3*time.Second), 0)}, Warn, []string{"3s ahead of", "NTP"}},
		{[]clockReading{newClockReading("PostgreSQL", asked, answered, theirs(-2*time.Minute), 0)}, Fail, []string{"2m0s behind", "NTP"}},
		{[]clockReading{
			newClockReading("PostgreSQL", asked, answered, theirs(0), 0),
			newClockReading("s3://bucket", asked, answered, theirs(2*time.Minute), time.Second),
		}, Fail, []string{"PostgreSQL", "s3://bucket"}},
		// A slow answer in whole seconds proves no difference.
		{[]clockReading{newClockReading("s3://bucket", asked, asked.Add(5*time.Second), asked.Add(-time.Second).Truncate(time.Second),
			time.Second)}, OK, nil},
	} {
		expect(t, checkClock(limited(t), test.readings), test.state, test.want...)
	}
}
