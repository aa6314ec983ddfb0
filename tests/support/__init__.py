"""Set-up that several kinds of tests share."""
