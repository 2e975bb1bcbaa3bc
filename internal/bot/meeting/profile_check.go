package meeting

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"standin/internal/jobs/job"
)

// datePattern matches a calendar date.
var datePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// checkProfile returns every mistake of a profile with its path.
func checkProfile(p *Profile) []string {
	c := &profileChecker{profile: p}
	c.expect(slices.Contains([]job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK}, p.Platform),
		"platform", "%q is not a platform", p.Platform)
	c.expect(p.Version > 0, "version", "must be 1 or more")
	c.expect(datePattern.MatchString(p.Date), "date", "must be a date such as 2026-11-20")
	c.expect(p.Limits.Name > 0, "limits.name", "must be 1 or more")
	c.expect(p.Limits.Chat > 0, "limits.chat", "must be 1 or more")
	selectorLists := map[string][]string{
		"participantContent": p.ParticipantContent,
		"roster.tiles":       p.Roster.Tiles,
		"roster.rows":        p.Roster.Rows,
		"chat.messages":      p.Chat.Messages,
		"captions.lines":     p.Captions.Lines,
	}
	for name, selectors := range p.Regions {
		path := "regions." + name
		c.expect(len(selectors) > 0, path, "has no selector")
		selectorLists[path] = selectors
		for i, selector := range selectors {
			c.expect(!selectsWholePage(selector), fmt.Sprintf("%s[%d]", path, i),
				"%q is the whole page, which holds the chat: name headings or a main region", selector)
		}
	}
	for list, selectors := range selectorLists {
		for i, selector := range selectors {
			c.selector(fmt.Sprintf("%s[%d]", list, i), selector)
		}
	}
	candidateLists := map[string][]Candidate{
		"roster.ignore":   p.Roster.Ignore,
		"roster.speaking": p.Roster.Speaking,
		"roster.pin":      p.Roster.Pin,
		"roster.pinned":   p.Roster.Pinned,
		"roster.menu":     p.Roster.Menu,
		"chat.own":        p.Chat.Own,
		"picture.content": p.Picture.Content,
		"picture.kept":    p.Picture.Kept,
	}
	for name, candidates := range p.Elements {
		c.expect(len(candidates) > 0, "elements."+name, "has no candidate")
		candidateLists["elements."+name] = candidates
	}
	for list, candidates := range candidateLists {
		for i, candidate := range candidates {
			c.candidate(fmt.Sprintf("%s[%d]", list, i), candidate)
		}
	}
	for list, sources := range map[string][]TextSource{
		"roster.name":     p.Roster.Name,
		"roster.self":     p.Roster.Self,
		"roster.count":    p.Roster.Count,
		"chat.author":     p.Chat.Author,
		"chat.text":       p.Chat.Text,
		"captions.author": p.Captions.Author,
		"captions.text":   p.Captions.Text,
	} {
		for i, source := range sources {
			path := fmt.Sprintf("%s[%d]", list, i)
			c.selector(path+".css", source.CSS)
			pattern, err := regexp.Compile(source.Pattern)
			c.expect(err == nil, path+".pattern", "%q is not a regular expression", source.Pattern)
			c.expect(source.Pattern == "" || err != nil || pattern.NumSubexp() > 0, path+".pattern",
				"%q has no group in parentheses", source.Pattern)
		}
	}
	// These could change the style of the whole page.
	for list, hidden := range map[string][]HiddenElement{
		"roster.hidden": p.Roster.Hidden, "chat.hidden": p.Chat.Hidden, "captions.hidden": p.Captions.Hidden,
	} {
		for i, element := range hidden {
			path := fmt.Sprintf("%s[%d]", list, i)
			c.selector(path+".css", element.CSS)
			c.expect(!selectsWholePage(element.CSS), path+".css", "%q is the whole page", element.CSS)
			c.expect(!strings.ContainsAny(element.CSS+element.Style, "{}<"), path, "has a character that CSS declarations do not need")
		}
	}
	for screen, rules := range p.Screens {
		path := fmt.Sprintf("screens.%s", screen)
		c.expect(slices.Contains(Screens(), screen), path, "is not a screen; screens are %v", Screens())
		c.expect(len(rules) > 0, path, "has no rule")
	}
	for answer := range p.Permission {
		c.expect(answer == Granted || answer == Refused, fmt.Sprintf("permission.%s", answer), "is not an answer; answers are %s and %s",
			Granted, Refused)
	}
	for path, rules := range p.rules() {
		for i, rule := range rules {
			c.rule(fmt.Sprintf("%s[%d]", path, i), rule)
		}
	}
	c.elements("admission.controls", p.Admission.Controls)
	c.elements("captions.enable", p.Captions.Enable)
	c.elements("captions.on", p.Captions.On)
	c.elements("captions.language", p.Captions.Language.elements())
	if p.Captions.Language.Options != "" {
		c.selector("captions.language.options", p.Captions.Language.Options)
		c.expect(len(p.Captions.Language.Open) > 0, "captions.language.open", "has no element")
		c.expect(p.Captions.Language.Value != "", "captions.language.value", "must name an attribute")
	}
	slices.Sort(c.issues)
	return c.issues
}

// profileChecker collects the mistakes of a profile.
type profileChecker struct {
	profile *Profile
	issues  []string
}

func (c *profileChecker) expect(ok bool, path, format string, args ...any) {
	if !ok {
		c.issues = append(c.issues, path+": "+fmt.Sprintf(format, args...))
	}
}

func (c *profileChecker) rule(path string, rule Rule) {
	c.expect(len(rule.Hosts)+len(rule.Paths)+len(rule.Titles)+len(rule.Text)+len(rule.Elements) > 0, path,
		"has no host, path, title, text or element")
	c.expect(rule.AtLeast >= 0 && rule.AtLeast <= len(rule.Elements), path,
		"atLeast is %d of %d elements", rule.AtLeast, len(rule.Elements))
	for i, condition := range rule.Text {
		at := fmt.Sprintf("%s.text[%d]", path, i)
		c.text(at, condition.TextMatch)
		c.expect(len(condition.In) > 0, at, "has no region under in")
		for _, region := range condition.In {
			_, known := c.profile.Regions[region]
			c.expect(known, at, "region %q is not defined", region)
		}
	}
	c.elements(path, slices.Concat(rule.Elements, rule.Unless))
}

func (c *profileChecker) elements(path string, names []string) {
	for _, name := range names {
		_, known := c.profile.Elements[name]
		c.expect(known, path, "element %q is not defined", name)
	}
}

func (c *profileChecker) candidate(path string, candidate Candidate) {
	c.selector(path+".css", candidate.CSS)
	c.expect(candidate.MinWidth >= 0 && candidate.MinHeight >= 0, path, "minWidth and minHeight cannot be negative")
	if candidate.Text != nil {
		c.text(path+".text", *candidate.Text)
	}
	if candidate.Within != nil {
		c.candidate(path+".within", *candidate.Within)
	}
}

func (c *profileChecker) text(path string, match TextMatch) {
	all := slices.Concat(match.Equals, match.StartsWith, match.Contains)
	c.expect(len(all) > 0, path, "has no text under equals, startsWith or contains")
	for _, text := range all {
		c.expect(strings.Trim(text, " .…") != "", path, "has an empty text")
	}
}

// selector finds the mistakes that need no browser. The browser reports the
// others when the profile is used, and names the selector too.
func (c *profileChecker) selector(path, selector string) {
	c.expect(strings.TrimSpace(selector) != "", path, "the CSS selector is empty")
	for _, pair := range []string{"[]", "()"} {
		c.expect(strings.Count(selector, pair[:1]) == strings.Count(selector, pair[1:]), path,
			"%q has an unmatched %s", selector, pair)
	}
	c.expect(strings.Count(selector, `"`)%2 == 0, path, "%q has an unmatched quotation mark", selector)
}

// selectsWholePage reports whether one alternative of a selector is the whole
// page.
func selectsWholePage(selector string) bool {
	for alternative := range strings.SplitSeq(selector, ",") {
		switch strings.ToLower(strings.TrimSpace(alternative)) {
		case "*", "html", "body", ":root", "html body", "html > body", "body *", "body > *", "html *":
			return true
		}
	}
	return false
}

// checkForPlatform checks that a profile defines the needed elements and
// screens, and no element that neither the adapter nor a rule uses, which would
// be a typing mistake.
func (p *Profile) checkForPlatform(platform platform) error {
	var issues []string
	for _, name := range append(requiredElements(), platform.elements...) {
		if _, ok := p.Elements[name]; !ok {
			issues = append(issues, fmt.Sprintf("elements.%s: missing", name))
		}
	}
	if len(p.Admission.Controls) == 0 {
		issues = append(issues, "admission.controls: missing")
	}
	usable := usableElements()
	for _, rules := range p.rules() {
		for _, rule := range rules {
			usable = slices.Concat(usable, rule.Elements, rule.Unless)
		}
	}
	usable = slices.Concat(usable, p.Admission.Controls, p.Captions.Enable, p.Captions.On, p.Captions.Language.elements())
	for name := range p.Elements {
		if !slices.Contains(usable, name) {
			issues = append(issues, fmt.Sprintf("elements.%s: neither the adapter of %s nor a rule uses it", name, p.Platform))
		}
	}
	// Without these a bot would not recognize the outcome of its visit. A profile may omit the others when nothing is known of them.
	for _, screen := range []Screen{PreJoin, Lobby, InMeeting, Removed, Ended, Denied, NotFound, SignInWall} {
		if _, ok := p.Screens[screen]; !ok {
			issues = append(issues, fmt.Sprintf("screens.%s: missing", screen))
		}
	}
	if len(issues) == 0 {
		return nil
	}
	slices.Sort(issues)
	return fmt.Errorf("profile %s: %s", p.source, strings.Join(issues, "; "))
}
