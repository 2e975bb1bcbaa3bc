package fieldpages

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"standin/internal/jobs/job"
)

// Plan is a generated meeting, as the page's script reads it.
type Plan struct {
	Platform job.Platform `json:"platform"`
	Scenario string       `json:"scenario"`
	Language string       `json:"language"`
	Seed     uint32       `json:"seed"`

	Slow     float64  `json:"slow"`     // factor of every delay
	Mutate   bool     `json:"mutate"`   // change what is not documented
	Repeat   bool     `json:"repeat"`   // the page loads its document again
	Launcher bool     `json:"launcher"` // the launcher asks how to join
	Decoys   bool     `json:"decoys"`   // chat and captions contain the words of other screens
	Dialogs  []string `json:"dialogs"`  // dialogs in the path of the bot
	People   []string `json:"people"`
	Messages []string `json:"messages"`

	Number   string `json:"number"` // of the meeting, on Teams and Zoom
	Passcode string `json:"passcode"`
	Accounts string `json:"accounts"` // host and port of the page to sign in
}

// String names the meeting in tables and messages.
func (p Plan) String() string {
	return fmt.Sprintf("%s/%s/%s/%d", p.Platform, p.Scenario, p.Language, p.Seed)
}

// Platforms returns the platforms that have field pages.
func Platforms() []job.Platform { return []job.Platform{job.Meet, job.Teams, job.ZoomWeb} }

// Languages returns the languages of the pages, most of which are English: the bot
// asks for it.
func Languages() []string {
	return []string{"en", "de", "es", "ja", "ar", "pt", "fr", "it", "nl", "pl", "tr", "ko", "zh-CN", "zh-TW", "hi"}
}

// Generate returns the meeting with a number in the sequence of a seed.
func Generate(seed uint64, number int) Plan {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	platforms := Platforms()
	platform := platforms[number%len(platforms)]
	scenario := chooseScenario(random, platform)
	language := "en"
	if random.Float64() < 0.35 {
		language = Languages()[1+random.IntN(len(Languages())-1)]
	}
	return Describe(platform, scenario.Name, language, random.Uint32())
}

// Describe returns the meeting of a platform, scenario, language and seed.
func Describe(platform job.Platform, scenario, language string, seed uint32) Plan {
	random := rand.New(rand.NewPCG(uint64(seed), 7))
	chance := func(probability float64) bool { return random.Float64() < probability }
	plan := Plan{
		Platform: platform, Scenario: scenario, Language: language, Seed: seed,
		Slow: 0.7 + 0.8*random.Float64(), Mutate: chance(0.85), Repeat: chance(0.3), Launcher: chance(0.4),
		Decoys:   chance(0.35) || scenario == "decoys",
		People:   samples(random, words("decoys", "people", "en"), 1+random.IntN(4)),
		Messages: samples(random, words("decoys", "messages", "en"), 4),
		Number:   fmt.Sprintf("%d", 90_000_000_000+random.Int64N(9_999_999_999)),
		Passcode: fmt.Sprintf("%x", random.Uint32()),
	}
	if scenario == "crowd" {
		for i := range 26 {
			plan.People = append(plan.People, fmt.Sprintf("Guest %c", 'A'+i))
		}
		plan.People = append(plan.People, "Guest A") // somebody else of that name
	}
	if plan.Decoys {
		plan.People[0] = samples(random, words("decoys", "names", "en"), 1)[0]
	}
	probability := 0.25
	if scenario == "dialogs" {
		probability = 0.7
	}
	for _, dialog := range dialogs()[platform] {
		if chance(probability) {
			plan.Dialogs = append(plan.Dialogs, dialog)
		}
	}
	plan.Dialogs = append([]string{}, plan.Dialogs...) // never null
	return plan
}

// dialogs returns the dialogs that the pages may show in any scenario.
func dialogs() map[job.Platform][]string {
	return map[job.Platform][]string{
		job.Meet:    {"nudge", "account", "devices", "strange", "tip", "hear"},
		job.Teams:   {"allow", "sure", "recording"},
		job.ZoomWeb: {"cookies", "allow", "allowTwice", "info", "joinAudio", "assistant", "muted"},
	}
}

// samples returns n different elements.
func samples(random *rand.Rand, from []string, n int) []string {
	shuffled := slices.Clone(from)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled[:min(n, len(shuffled))]
}
