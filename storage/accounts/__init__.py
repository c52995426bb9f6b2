"""Accounts: annotators with credentials, their sessions, invitations and API tokens.

Without any account everybody signs in by name, from the server's own machine only (see `pages.parts.account_guard`).
"""

from storage.accounts.registry import Account as Account
from storage.accounts.registry import exist as exist
from storage.accounts.registry import find as find
from storage.accounts.registry import get as get
