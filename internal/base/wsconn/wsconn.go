// Package wsconn has what both ends of live sound need of a WebSocket: pings, and writes
// that end.
package wsconn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/retry"
)

const (
	pingInterval = 15 * time.Second
	// PingTimeout is how long the other end may take to respond to a ping.
	PingTimeout  = 15 * time.Second
	writeTimeout = 30 * time.Second
)

// KeepAlive returns when the other end does not respond to a ping in time, or ctx ends.
func KeepAlive(ctx context.Context, conn *websocket.Conn) error {
	for {
		if err := retry.Sleep(ctx, pingInterval); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, PingTimeout)
		err := conn.Ping(waiting)
		cancel()
		if err != nil {
			return fmt.Errorf("no response to a ping: %w", err)
		}
	}
}

// Write sends a message. It fails when the other end reads nothing for writeTimeout.
func Write(ctx context.Context, conn *websocket.Conn, kind websocket.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return conn.Write(ctx, kind, data)
}

// WriteJSON sends a text message.
func WriteJSON(ctx context.Context, conn *websocket.Conn, message any) error {
	encoded, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return Write(ctx, conn, websocket.MessageText, encoded)
}
