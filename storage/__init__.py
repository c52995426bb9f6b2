"""What is kept: one module per noun, functions on a Session, core types in and out. Rows never leave."""
