package cli

import (
	"fmt"
	"reflect"
)

// Command is a command, or a group of commands.
type Command struct {
	Path  string // the names from the program to the command, separated by spaces
	Help  string
	Flags []*Field

	args     []*Field
	commands []*Command
	standard *Command // of the group, for arguments without a command's name
	target   any      // a pointer to the struct
}

// newCommand reads a struct.
func newCommand(path, help string, target any) (*Command, error) {
	c := &Command{Path: path, Help: help, target: target}
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("command %s: %T is not a pointer to a struct", path, target)
	}
	if err := c.read(v.Elem(), "", ""); err != nil {
		return nil, fmt.Errorf("command %s: %w", path, err)
	}
	if _, ok := target.(Runner); !ok && len(c.commands) == 0 {
		return nil, fmt.Errorf("command %s: %T has neither commands nor a method Run", path, target)
	}
	return c, nil
}

// read adds the fields of a struct.
func (c *Command) read(v reflect.Value, prefix, group string) error {
	for i := range v.NumField() {
		declared := v.Type().Field(i)
		if !declared.IsExported() && !declared.Anonymous {
			continue
		}
		tag, err := parseTag(declared)
		if err != nil {
			return err
		}
		if tag["group"] == "" {
			tag["group"] = group
		}
		name := tag["name"]
		if name == "" {
			name = kebab(declared.Name)
		}
		switch {
		case declared.Anonymous || tag.has("embed"):
			err = c.read(v.Field(i), prefix+tag["prefix"], tag["group"])
		case tag.has("cmd"):
			err = c.add(Subcommand{Name: name, Help: tag["help"], Command: v.Field(i).Addr().Interface()}, tag.has("default"))
		default:
			err = c.addField(prefix+name, tag, v.Field(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a command of the group.
func (c *Command) add(one Subcommand, isDefault bool) error {
	child, err := newCommand(c.Path+" "+one.Name, one.Help, one.Command)
	if err != nil {
		return err
	}
	c.commands = append(c.commands, child)
	if isDefault {
		c.standard = child
	}
	return nil
}

// addField adds a flag or an argument.
func (c *Command) addField(name string, tag tags, target reflect.Value) error {
	f, err := newField(name, tag, target)
	if err != nil {
		return fmt.Errorf("field %s: %w", name, err)
	}
	if f.isArg {
		c.args = append(c.args, f)
		return nil
	}
	for _, other := range c.Flags {
		if other.Name == name {
			return fmt.Errorf("two flags --%s", name)
		}
	}
	c.Flags = append(c.Flags, f)
	return nil
}

// leaves returns the commands below this one that can be run.
func (c *Command) leaves() (all []*Command) {
	if len(c.commands) == 0 {
		return []*Command{c}
	}
	for _, child := range c.commands {
		all = append(all, child.leaves()...)
	}
	return all
}

// Args returns the positional arguments.
func (c *Command) Args() []*Field { return c.args }

// Detail returns the paragraphs after the help text.
func (c *Command) Detail() string {
	if d, ok := c.target.(detailer); ok {
		return d.Help()
	}
	return ""
}
