"""What every store does over named statements, in parts on what `core` gives them: the past,
structured reads, search, vectors, and people. A store adds its connections and what searches."""
