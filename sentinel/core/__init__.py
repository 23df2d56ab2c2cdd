"""The sentinel's judgement: events of plain numbers go in, findings come out. No torch in here."""
