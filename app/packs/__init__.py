"""What goes into an evidence pack as it is: the script that checks it."""
