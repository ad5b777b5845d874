"""Settings of the operating system: which ones may be touched at all, and the journal that puts them back."""
