"""Results for people: terminal tables and HTML pages."""
