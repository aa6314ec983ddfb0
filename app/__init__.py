"""People and machines that look and act: pages, API, webhooks, commands."""
