"""Tables of any layout, read with a mapping that assigns their fields to items and labels."""
