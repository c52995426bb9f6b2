"""The database. One module per noun: functions take a Session, and take and return types of `core`, never rows."""
