"""What users can run on their own stores and surfaces: `from sourcebook.testing import isolation`.

Needs nothing that Sourcebook itself does not need.
"""
