"""One module a group of commands; each command asks the engine and returns a Reply."""
