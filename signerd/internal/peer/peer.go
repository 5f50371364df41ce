// Package peer decides who may speak to signerd, by the kernel's word and
// before the first byte of a request is read, and gives each connection the
// identity that handlers find in their context. Only the gRPC servers of
// signerd and app import it.
//
// It promises that a caller whose uid is not allowed is cut off in the
// handshake, and that a session id is never given twice.
package peer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"

	"countersign/shared/logging"
	"countersign/shared/uds"
)

// Identity is who is at the other end of one connection.
type Identity struct {
	UID, GID uint32
	// PID and Executable are for the record; UID is the boundary.
	PID        int32
	Executable string
	// Session is random and lives as long as the connection.
	Session string
}

// protocol names these credentials in gRPC's own diagnostics.
const protocol = "unix-peer"

type authInfo struct {
	credentials.CommonAuthInfo
	identity Identity
}

func (authInfo) AuthType() string { return protocol }

// serverCredentials admit connections over a Unix socket from the allowed uids,
// and from no others; an empty list admits nobody.
type serverCredentials struct {
	allowed []uint32
	logger  *slog.Logger
	ended   func(session string)
}

// ServerHandshake runs once a connection, before gRPC reads from it.
func (c *serverCredentials) ServerHandshake(connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kernel, err := uds.PeerOf(connection)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(c.allowed, kernel.UID) {
		c.logger.LogAttrs(context.Background(), slog.LevelWarn, "connection refused",
			slog.Uint64(logging.KeyUID, uint64(kernel.UID)), slog.Int64(logging.KeyPID, int64(kernel.PID)))
		return nil, nil, fmt.Errorf("uid %d may not use this socket", kernel.UID)
	}
	session := "s_" + rand.Text()
	return &watched{Conn: connection, ended: func() { c.ended(session) }}, authInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		identity: Identity{
			UID: kernel.UID, GID: kernel.GID, PID: kernel.PID, Executable: kernel.Executable,
			Session: session,
		},
	}, nil
}

// watched is a connection whose end is told, once. A server that stops waits for
// the telling, since it waits for every connection to be closed.
type watched struct {
	net.Conn
	once  sync.Once
	ended func()
}

// Close closes the connection, which nobody uses from then on, and tells so.
func (w *watched) Close() error {
	err := w.Conn.Close()
	w.once.Do(w.ended)
	return err
}

// ClientHandshake is not for servers; clients use shared/udsgrpc.
func (*serverCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are a server's")
}

func (*serverCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: protocol}
}

func (c *serverCredentials) Clone() credentials.TransportCredentials {
	return &serverCredentials{allowed: slices.Clone(c.allowed), logger: c.logger, ended: c.ended}
}

func (*serverCredentials) OverrideServerName(string) error { return nil }

// FromContext is the identity of the connection that a request came over.
func FromContext(ctx context.Context) (Identity, bool) {
	from, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return Identity{}, false
	}
	info, ok := from.AuthInfo.(authInfo)
	return info.identity, ok
}

const (
	// maxRequest is above the largest honest request: a batch of forty
	// transactions of 4,096 bytes, the longest that v1 allows, with its intent.
	maxRequest = 40*4096 + 32<<10
	// maxStreams bounds what one connection can have under way.
	maxStreams = 64
	// handshakeTime bounds how long a connection may take to say what it is.
	handshakeTime = 5 * time.Second
	// maxHeaders bounds the metadata of one request.
	maxHeaders = 16 << 10
)

// ServerOptions are the credentials and limits of every gRPC server of signerd.
// Refused connections are logged. ended, unless it is nil, is told which session is
// over, once.
func ServerOptions(allowedUIDs []uint32, logger *slog.Logger, ended func(session string)) []grpc.ServerOption {
	if ended == nil {
		ended = func(string) {}
	}
	return []grpc.ServerOption{
		grpc.Creds(&serverCredentials{allowed: slices.Clone(allowedUIDs), logger: logger, ended: ended}),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.MaxHeaderListSize(maxHeaders),
	}
}
