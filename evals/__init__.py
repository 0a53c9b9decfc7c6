"""Programs that measure quality on real data; their results are committed beside them."""
