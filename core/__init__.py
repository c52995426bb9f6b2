"""The domain of Tiebreak: items, judges, protocols, labels and statistics.

It imports neither Streamlit nor a database.
"""
