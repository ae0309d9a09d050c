"""What chapter 19 alone needs: its detector's data, servers, trials, slips and pictures."""
