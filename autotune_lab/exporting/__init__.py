"""One file per export format: picks to text and back."""
