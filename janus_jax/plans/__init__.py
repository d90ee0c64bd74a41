"""Plans frozen before outcomes are read: drawing them up, their files, holding audits to them."""
