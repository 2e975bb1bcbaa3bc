package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// maxTask bounds the file that tells a bot its task.
const maxTask = 1 << 20

// Task returns what a bot in a container must be told, as the content of a
// file: whoever may look at a container sees its environment and arguments,
// and the task holds the bot's token and the meeting's passcode. more are
// variables beside the assignment's and the setup's. The bot keeps its files
// in dir, a folder of the container.
func (a Assignment) Task(dir string, setup BotSettings, more []string) ([]byte, error) {
	assigned, err := a.Environment(dir)
	if err != nil {
		return nil, err
	}
	task := make(map[string]string)
	for _, variable := range slices.Concat(more, setup.Environment(), assigned) {
		name, value, _ := strings.Cut(variable, "=")
		task[name] = value
	}
	content, err := json.Marshal(task)
	if err != nil {
		return nil, fmt.Errorf("encode the bot's task: %w", err)
	}
	return content, nil
}

// TakeTask puts the task of the file into this process's environment, and
// removes the file where it may: what is read once is not left lying about.
func TakeTask(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the bot's task: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxTask))
	if err != nil {
		return fmt.Errorf("read the bot's task: %w", err)
	}
	var task map[string]string
	if err := json.Unmarshal(content, &task); err != nil {
		return errors.New("the bot's task cannot be read: it is no JSON object of strings") // the error might show its content
	}
	for name, value := range task {
		if !strings.HasPrefix(name, "STANDIN_") {
			return fmt.Errorf("the bot's task sets %q, which is none of Standin's variables", name)
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	_ = os.Remove(path) // a mounted secret cannot be removed, and goes with the container
	return os.Unsetenv(EnvTask)
}

// LogSettings are those variables of an environment that say how to log: bots
// log as the service does.
func LogSettings(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !logSetting(name)
	})
}

// logSetting reports whether a variable says how to log.
func logSetting(name string) bool { return name == "STANDIN_LOG_LEVEL" || name == "STANDIN_LOG_FORMAT" }
