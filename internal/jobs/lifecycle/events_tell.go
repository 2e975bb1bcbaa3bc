package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar"
	"standin/internal/jobs/outcome"
)

// maxTold is how many organizers one team has told in a minute.
const maxTold = 5

// TellOrganizers tells the organizers of meetings by mail that a bot comes, as the rules of the calendars say: those whose
// address is of the domain of a user of the team, so that nobody can have strangers written to.
func (i *EventScheduler) TellOrganizers(ctx context.Context) error {
	if i.SendMail == nil {
		return nil
	}
	due, err := i.Jobs.Store.ClaimArrivals(ctx, i.Jobs.Now())
	told := make(map[uuid.UUID]int)
	for _, a := range due {
		users, usersErr := i.Jobs.Store.ConsumerUsers(ctx, a.ConsumerID)
		err = errors.Join(err, usersErr)
		_, domain, _ := strings.Cut(a.Organizer, "@")
		colleague := slices.ContainsFunc(users, func(u account.User) bool { return strings.HasSuffix(strings.ToLower(u.Email), "@"+domain) })
		if !colleague || told[a.ConsumerID] == maxTold {
			continue
		}
		told[a.ConsumerID]++
		title := cmp.Or(a.Title, "your meeting")
		start := a.Start.In(calendar.Location(a.Zone)).Format("15:04 MST")
		body := fmt.Sprintf("Hello,\n\nat %s, a recorder with the name “%s” joins the meeting “%s”.\n\n%s\n\nIf you do not want it, refuse it or remove it: "+
			"it does not come back. Your team has set in %s/calendars that you are told.\n", start, a.Bot, title, outcome.HostSteps[a.Platform], i.Jobs.BaseURL)
		err = errors.Join(err, i.SendMail(ctx, []string{a.Organizer}, fmt.Sprintf("A recorder joins “%s” at %s", title, start), body))
	}
	return err
}
