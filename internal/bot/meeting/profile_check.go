package meeting

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
)

// datePattern matches a calendar date.
var datePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// checkProfile returns every mistake of a profile with its path.
func checkProfile(p *Profile) []string {
	c := &profileChecker{profile: p}
	var node yaml.Node
	if err := yaml.Unmarshal(p.text, &node); err == nil {
		c.walk("", &node)
	}
	c.expect(slices.Contains([]job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK}, p.Platform),
		"platform", "%q is not a platform", p.Platform)
	c.expect(p.Version > 0, "version", "must be 1 or more")
	c.expect(datePattern.MatchString(p.Date), "date", "must be a date such as 2026-11-20")
	c.expect(p.Limits.Name > 0, "limits.name", "must be 1 or more")
	c.expect(p.Limits.Chat > 0, "limits.chat", "must be 1 or more")
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
			path := fmt.Sprintf("%s[%d]", path, i)
			c.expect(len(rule.Hosts)+len(rule.Paths)+len(rule.Titles)+len(rule.Text)+len(rule.Elements) > 0, path,
				"has no host, path, title, text or element")
			c.expect(rule.AtLeast >= 0 && rule.AtLeast <= len(rule.Elements), path,
				"atLeast is %d of %d elements", rule.AtLeast, len(rule.Elements))
			for i, condition := range rule.Text {
				at := fmt.Sprintf("%s.text[%d]", path, i)
				c.expect(len(condition.Equals)+len(condition.StartsWith)+len(condition.Contains) > 0, at,
					"has no text under equals, startsWith or contains")
				c.expect(len(condition.In) > 0, at, "has no region under in")
				for _, region := range condition.In {
					_, known := p.Regions[region]
					c.expect(known || region == messageRegion, at, "region %q is not defined", region)
				}
			}
			c.elements(path, slices.Concat(rule.Elements, rule.Unless))
		}
	}
	c.elements("admission.controls", p.Admission.Controls)
	c.elements("captions.enable", p.Captions.Enable)
	c.elements("captions.on", p.Captions.On)
	c.elements("captions.language", p.Captions.Language.elements())
	if p.Captions.Language.Options != "" {
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

func (c *profileChecker) elements(path string, names []string) {
	for _, name := range names {
		_, known := c.profile.Elements[name]
		c.expect(known, path, "element %q is not defined", name)
	}
}

// walk checks the selectors, patterns and texts of a part of the profile's file.
func (c *profileChecker) walk(path string, node *yaml.Node) {
	key, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	region, hidden := strings.HasPrefix(path, "regions."), strings.Contains(path, ".hidden[")
	switch {
	case node.Kind == yaml.AliasNode:
		c.walk(path, node.Alias)
	case node.Kind == yaml.MappingNode:
		c.expect(key != "text" || len(node.Content) > 0, path, "has no text under equals, startsWith or contains")
		for i := 1; i < len(node.Content); i += 2 {
			c.walk(strings.TrimPrefix(path+"."+node.Content[i-1].Value, "."), node.Content[i])
		}
	case node.Kind == yaml.SequenceNode:
		c.expect(len(node.Content) > 0 || !region && !strings.HasPrefix(path, "elements."), path, "has no candidate")
		for i, inner := range node.Content {
			c.walk(fmt.Sprintf("%s[%d]", path, i), inner)
		}
	case node.Kind == yaml.DocumentNode:
		c.walk(path, node.Content[0])
	case region || slices.Contains([]string{"css", "options", "participantContent", "tiles", "rows", "messages", "lines"}, key):
		// These mistakes need no browser. It reports the others when the profile is used, and names the selector too.
		c.expect(strings.TrimSpace(node.Value) != "", path, "the CSS selector is empty")
		for _, pair := range []string{"[]", "()"} {
			c.expect(strings.Count(node.Value, pair[:1]) == strings.Count(node.Value, pair[1:]), path,
				"%q has an unmatched %s", node.Value, pair)
		}
		c.expect(strings.Count(node.Value, `"`)%2 == 0, path, "%q has an unmatched quotation mark", node.Value)
		c.expect(!region && !hidden || !selectsWholePage(node.Value), path, "%q is the whole page", node.Value)
	case key == "pattern":
		pattern, err := regexp.Compile(node.Value)
		c.expect(err == nil, path, "%q is not a regular expression", node.Value)
		c.expect(err != nil || pattern.NumSubexp() > 0, path, "%q has no group in parentheses", node.Value)
	case slices.Contains([]string{"equals", "startsWith", "contains"}, key):
		c.expect(strings.Trim(node.Value, " .…") != "", path, "has an empty text")
	}
	// These could change the style of the whole page.
	c.expect(!hidden || !strings.ContainsAny(node.Value, "{}<"), path, "has a character that CSS declarations do not need")
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
