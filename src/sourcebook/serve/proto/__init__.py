"""The schema of the gRPC door and the code that is generated from it: see `make proto`."""
