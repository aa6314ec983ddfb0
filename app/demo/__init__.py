"""What the demo knows besides its scenario: cities, users, people, a laboratory's year."""
