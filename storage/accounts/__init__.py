"""Accounts: annotators with credentials, their sessions, invitations and API tokens.

Without any account everybody signs in by name, from the server's own machine only (see `pages.parts.account_guard`).
"""
