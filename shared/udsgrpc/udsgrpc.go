// Package udsgrpc is the client's half of gRPC over a Unix socket: it dials,
// and checks by the kernel's word that the server runs under the expected
// account before a byte is sent to it. mcpd and the commands of signerd import
// it; the server's half is signerd/internal/peer.
package udsgrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"countersign/shared/uds"
)

// maxAnswer bounds one message from the server: a page of activities.
const maxAnswer = 4 << 20

// NewClient makes a connection to the server on path. It connects at the first
// call. A server under an account that is not in serverUIDs gets nothing.
func NewClient(path string, serverUIDs []uint32, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	if err := uds.CheckPath(path); err != nil {
		return nil, err
	}
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(ClientCredentials(serverUIDs)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return uds.Dial(ctx, path) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		// The path is not a host to be looked up, and no proxy reaches it.
		grpc.WithAuthority("localhost"),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}, more...)
	connection, err := grpc.NewClient("passthrough:///signerd", options...)
	if err != nil {
		return nil, fmt.Errorf("connect to signerd: %w", err)
	}
	return connection, nil
}

const protocol = "unix-peer"

type authInfo struct{ credentials.CommonAuthInfo }

func (authInfo) AuthType() string { return protocol }

type clientCredentials struct{ servers []uint32 }

// ClientCredentials accept a server that runs under one of the given uids.
func ClientCredentials(serverUIDs []uint32) credentials.TransportCredentials {
	return &clientCredentials{servers: slices.Clone(serverUIDs)}
}

// ErrWrongServer is a server under an account that was not expected: somebody
// else took the path.
var ErrWrongServer = errors.New("the socket belongs to another account than expected")

func (c *clientCredentials) ClientHandshake(_ context.Context, _ string, connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kernel, err := uds.PeerOf(connection)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(c.servers, kernel.UID) {
		return nil, nil, fmt.Errorf("%w: uid %d", ErrWrongServer, kernel.UID)
	}
	return connection, authInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

func (*clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are a client's")
}

func (*clientCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: protocol}
}

func (c *clientCredentials) Clone() credentials.TransportCredentials {
	return &clientCredentials{servers: slices.Clone(c.servers)}
}

func (*clientCredentials) OverrideServerName(string) error { return nil }
