"""Reads messages, mailboxes and saved pages, which are messages too.

`mail` and `mhtml` read files, with the parts that `mail_parts` finds.
"""
