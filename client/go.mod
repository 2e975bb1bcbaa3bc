module standin/client

go 1.24
