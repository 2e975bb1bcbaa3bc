package rtmsdouble

import (
	"context"
	"fmt"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/replica"
)

// Number is the number of the meeting of a Conversation.
const Number = 93_012_345_678

// Conversation is a meeting in which the people of package replica talk. Whenever its stream has ended, another one begins.
type Conversation struct {
	server *Server
	// Tell tells the app what Zoom tells it: meeting.rtms_started or meeting.rtms_stopped.
	Tell func(ctx context.Context, event string, m *Meeting) error

	people []Person
	films  map[string][][]byte // by name
	voices map[string][]byte   // by line

	mu      sync.Mutex
	meeting *Meeting
	ended   bool
}

// Prepare makes a conversation. It needs ffmpeg.
func (s *Server) Prepare() (c *Conversation, err error) {
	c = &Conversation{server: s, films: make(map[string][][]byte), voices: make(map[string][]byte)}
	for i, p := range replica.People() {
		content, err := replica.Recorded(p.Film + "-talks.ivf")
		if err == nil {
			c.films[p.Name], err = convertVideo(content, "-f", "ivf", "-i", "-")
		}
		if err != nil {
			return nil, err
		}
		c.people = append(c.people, Person{ID: 16_778_240 + i<<10, Name: p.Name})
	}
	for _, line := range replica.Conversation() {
		content, err := replica.Recorded(line.Name + ".ogg")
		if err == nil {
			c.voices[line.Name], err = convert(content, "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "48000")
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// URL returns the link of the meeting.
func (c *Conversation) URL() string { return fmt.Sprintf("https://zoom.us/j/%d", Number) }

// Converse lets the people talk until ctx ends, while a client receives them.
func (c *Conversation) Converse(ctx context.Context) error {
	for ctx.Err() == nil {
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return nil
		}
		m := c.server.Open(Settings{})
		c.meeting = m
		c.mu.Unlock()
		m.Join(c.people...)
		for _, p := range c.people {
			m.Camera(p.ID, c.films[p.Name])
		}
		if err := c.Tell(ctx, "meeting.rtms_started", m); err != nil {
			return err
		}
		for _, line := range replica.Conversation() {
			for !m.Connected(Audio) && !m.Over() && ctx.Err() == nil {
				_ = retry.Sleep(ctx, 100*time.Millisecond)
			}
			if m.Over() || ctx.Err() != nil {
				break
			}
			for _, p := range c.people {
				if p.Name == line.From {
					c.speak(ctx, m, p, line)
				}
			}
			m.Pass(700 * time.Millisecond)
		}
		if !m.Over() {
			m.Stop(6) // the meeting ended
		}
		if err := c.Tell(ctx, "meeting.rtms_stopped", m); err != nil && ctx.Err() == nil { // the service may have ended
			return err
		}
	}
	return nil
}

// speak lets a person say a line.
func (c *Conversation) speak(ctx context.Context, m *Meeting, p Person, line replica.Line) {
	if line.Chat != "" {
		m.Write(p.ID, line.Chat)
	}
	began := time.Now()
	m.Talk(p.ID)
	m.mu.Lock()
	m.said = c.voices[line.Name]
	m.mu.Unlock()
	m.Pass(time.Duration(len(c.voices[line.Name])) * time.Second / 96_000)
	m.Talk()
	if ctx.Err() == nil {
		m.Say(p.ID, line.Text, began, time.Now())
	}
}

// End ends the meeting, and returns how many streams it had.
func (c *Conversation) End() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.meeting == nil {
		return 0
	}
	c.meeting.Stop(6)
	return 1
}
