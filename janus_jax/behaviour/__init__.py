"""How the reporting rule behaves: complete-null replays, power, repeated splits."""
